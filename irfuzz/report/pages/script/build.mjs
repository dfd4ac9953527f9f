// Builds irfuzz-pages.min.js, irfuzz-pages.css and LICENCES.txt beside this file; README.md says when.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";

const banner = "/* irfuzz's pages, Apache-2.0. Holds dagre and graphlib, MIT: LICENCES.txt. Built of src/ by build.mjs. */";
const result = await build({
  entryPoints: ["src/main.js"], bundle: true, minify: true, format: "iife", target: "es2022", legalComments: "none",
  banner: { js: banner }, outfile: "irfuzz-pages.min.js", metafile: true, charset: "ascii",
});
await build({ entryPoints: ["src/pages.css"], minify: true, outfile: "irfuzz-pages.css" });
const direct = Object.keys(result.metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
const packages = new Set(direct.filter(Boolean));
for (const name of packages) {
  // What a package depends on may lie inside of its own bundle, where esbuild does not see it.
  const { dependencies } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  for (const other of Object.keys(dependencies ?? {})) packages.add(other);
}
const texts = [];
for (const name of packages) {
  const about = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  const licence = await readFile(`node_modules/${name}/LICENSE`, "utf8");
  texts.push(`${name} ${about.version} (${about.license}), https://www.npmjs.com/package/${name}\n\n${licence.trim()}\n`);
}
await writeFile("LICENCES.txt", `irfuzz-pages.min.js holds these packages:\n\n${texts.join("\n\n")}`);
console.log(`irfuzz-pages.min.js: ${(await readFile("irfuzz-pages.min.js")).length} bytes; ${[...packages].join(", ")}`);
