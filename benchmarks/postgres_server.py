"""A PostgreSQL for tests and benchmarks: an ordinary user's, in a temporary folder, with a Unix socket only."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path


class PostgresServer:
    """A server of an ordinary user in a temporary folder, with a Unix socket only."""

    def __init__(self, programs: Path, folder: Path, user: str | None) -> None:
        self.folder, self._programs, self._user = folder, programs, user

    @classmethod
    def begin(cls) -> PostgresServer:
        """Make one and start it.

        Raises:
            FileNotFoundError: there is none to start here; the message says why.
        """
        programs = postgres_programs()
        if programs is None:
            raise FileNotFoundError("initdb and pg_ctl are not installed (Debian: postgresql)")
        user = None
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = next((name for name in ("postgres", "nobody") if name in names), None)
            if user is None:
                raise FileNotFoundError("PostgreSQL does not run as root, and there is no user postgres or nobody")
        folder = Path(tempfile.mkdtemp(prefix="irfuzz-pg-"))
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        server = cls(programs, folder, user)
        try:
            server.make()
        except BaseException:
            server.end()
            raise
        return server

    def end(self) -> None:
        """Stop it and remove its folder."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, program: str, *words: str) -> None:
        found = subprocess.run(
            [str(self._programs / program), *words],
            user=self._user,
            group=self._user and pwd.getpwnam(self._user).pw_gid,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "HOME": str(self.folder)},
        )
        assert found.returncode == 0, found.stdout + found.stderr

    def make(self) -> None:
        """Make the data and start for the first time."""
        self.run("initdb", "-D", "data", "-U", "irfuzz", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        self.start()

    def start(self) -> None:
        settings = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c max_connections=60 -c shared_buffers=16MB"
        self.run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", settings, "start")

    def stop(self, how: str = "immediate") -> None:
        self.run("pg_ctl", "-D", "data", "-m", how, "-w", "stop")

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://irfuzz@/{name}?host={self.folder}"

    def database(self) -> str:
        """The URL of an empty database: the same one each time, for a new one is 7 MB of files."""
        import psycopg

        with psycopg.connect(f"user=irfuzz dbname=postgres host={self.folder}", autocommit=True) as connection:
            connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid != pg_backend_pid()")
            connection.execute("drop schema public cascade")
            connection.execute("create schema public")
        return self.url("postgres")


def postgres_programs() -> Path | None:
    """The folder of initdb and pg_ctl; ``None`` if they are not installed."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(folders) if (folder / "pg_ctl").is_file()), None)
