"""What a finding is, and how it is confirmed, made small, blamed, signed, replayed and stored."""
