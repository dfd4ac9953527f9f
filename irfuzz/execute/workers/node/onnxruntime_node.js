// Answers irfuzz's requests with onnxruntime-node or onnxruntime-web (docs/worker_protocol.md).
//
//   node onnxruntime_node.js PACKAGE_FOLDER SOCKET_FD MOST_RESULT_BYTES
"use strict";

const fs = require("fs");
const path = require("path");

const [folder, socketText, mostText] = process.argv.slice(2);
const socket = Number(socketText);
const most = Number(mostText);

const MAGIC = Buffer.from("IRFUZZ\x01\n", "latin1");
const HEADER = 32;
const ALIGN = 64;
const PIPE_GONE = 113;
const LOG = 2;

// What the component says of what it does not claim to do.
const GAP = new RegExp(
  "NOT_IMPLEMENTED|ERROR_CODE: 9\\b|Could not find an implementation|No Op registered|is not a registered function/op" +
    "|ValidateOpsetForDomain|Unsupported model IR version|not (currently |yet |temporarily )?(supported|implemented)" +
    "|unsupported|temporarily not supported", "i");

class Gap extends Error {}

// ---- frames ------------------------------------------------------------------------------------

function readExactly(target) {
  for (let at = 0; at < target.length; ) {
    const count = fs.readSync(socket, target, at, target.length - at, null);
    if (count === 0) process.exit(0); // nobody asks any more
    at += count;
  }
  return target;
}

function readFrame() {
  const header = readExactly(Buffer.alloc(HEADER));
  if (!header.subarray(0, 8).equals(MAGIC)) throw new Error("bytes that are no frame");
  const meta = readExactly(Buffer.alloc(Number(header.readBigUInt64LE(16))));
  const body = readExactly(Buffer.from(new ArrayBuffer(Number(header.readBigUInt64LE(24)))));
  const message = JSON.parse(meta.toString("utf8"));
  return { id: header.readBigUInt64LE(8), message, values: restored(message.values, body) };
}

function writeFrame(id, message, values) {
  const parts = [];
  message.values = values.map((value) => described(value, parts));
  const meta = Buffer.from(JSON.stringify(message), "utf8");
  const header = Buffer.alloc(HEADER);
  MAGIC.copy(header);
  header.writeBigUInt64LE(id, 8);
  header.writeBigUInt64LE(BigInt(meta.length), 16);
  header.writeBigUInt64LE(BigInt(parts.reduce((sum, part) => sum + part.length, 0)), 24);
  try {
    for (const part of [header, meta, ...parts]) {
      for (let at = 0; at < part.length; ) at += fs.writeSync(socket, part, at, part.length - at);
    }
  } catch (error) {
    process.exit(PIPE_GONE);
  }
}

// ---- values ------------------------------------------------------------------------------------

const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  float16: Uint16Array, float32: Float32Array, float64: Float64Array,
};

function product(dims) {
  return dims.reduce((a, b) => a * b, 1);
}

function restored(descriptions, body) {
  let at = 0;
  const take = (size) => {
    const begin = body.byteOffset + at;
    at += Math.ceil(size / ALIGN) * ALIGN;
    return begin;
  };
  const one = (about) => {
    if (about === null) return null;
    const [kind, first, second] = about;
    if (kind === "b") return new Uint8Array(body.buffer, take(first), first);
    if (kind === "l") return first.map(one);
    if (kind === "s") {
      const count = product(first);
      const lengths = new BigInt64Array(body.buffer, take(8 * count), count);
      take(count);
      const text = Buffer.from(body.buffer, take(Number(lengths.reduce((a, b) => a + b, 0n))));
      let from = 0;
      const data = Array.from(lengths, (n) => text.toString("utf8", from, (from += Number(n))));
      return { type: "string", dims: first, data };
    }
    const ArrayType = ARRAYS[first];
    if (ArrayType === undefined) {
      take(product(second) * (first === "bfloat16" ? 2 : first === "complex64" ? 8 : first === "complex128" ? 16 : 1));
      return { gap: `element type ${first}` };
    }
    const count = product(second);
    return { type: first, dims: second, data: new ArrayType(body.buffer, take(count * ArrayType.BYTES_PER_ELEMENT), count) };
  };
  return descriptions.map(one);
}

function add(parts, bytes) {
  parts.push(bytes);
  const rest = (ALIGN - (bytes.length % ALIGN)) % ALIGN;
  if (rest) parts.push(Buffer.alloc(rest));
}

function described(tensor, parts) {
  const dims = Array.from(tensor.dims);
  if (tensor.type === "string") {
    const texts = tensor.data.map((text) => Buffer.from(text, "utf8"));
    const lengths = BigInt64Array.from(texts, (text) => BigInt(text.length));
    add(parts, Buffer.from(lengths.buffer));
    add(parts, Buffer.alloc(texts.length));
    add(parts, Buffer.concat(texts));
    return ["s", dims];
  }
  const data = tensor.data;
  add(parts, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  return ["t", tensor.type, dims];
}

// ---- the component -----------------------------------------------------------------------------

const component = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
const web = component.name === "onnxruntime-web";
let runtime = null;

function load() {
  if (runtime === null) {
    runtime = require(folder);
    runtime.env.logLevel = "fatal";
    if (web) runtime.env.wasm.numThreads = 1;
  }
  return runtime;
}

function at(place, stage) {
  fs.writeSync(LOG, `irfuzz-at ${place} ${stage}\n`);
}

function fed(names, given) {
  const feeds = {};
  names.forEach((name, i) => {
    const value = given[i];
    if (value === null || Array.isArray(value)) throw new Gap(`input ${name}: it takes tensors only`);
    if (value.gap) throw new Gap(`input ${name}: it has no ${value.gap}`);
    feeds[name] = new runtime.Tensor(value.type, value.data, value.dims);
  });
  return feeds;
}

async function variant(request, values, options, place) {
  const began = process.hrtime.bigint();
  let stage = "compile";
  let session = null;
  const tensors = [];
  const status = { stage, exit: "ok" };
  try {
    at(place, stage);
    load();
    session = await runtime.InferenceSession.create(values[0], {
      executionProviders: [web ? "wasm" : "cpu"], graphOptimizationLevel: options.level || "all",
      intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4,
    });
    const names = request.inputs.map((about) => about.name);
    const all = fed(names, values.slice(1));
    const feeds = Object.fromEntries(names.filter((n) => session.inputNames.includes(n)).map((n) => [n, all[n]]));
    stage = "run";
    at(place, stage);
    const found = await session.run(feeds);
    for (const name of session.outputNames) {
      if (!found[name] || found[name].dims === undefined) throw new Gap(`output ${name}: it gives tensors only`);
      tensors.push(found[name]);
    }
    status.outputs = session.outputNames.map((name) => ({ name }));
  } catch (error) {
    const text = String((error && error.message) || error);
    status.exit = error instanceof Gap || GAP.test(text) ? "unsupported" : "rejected";
    status.error = text.split("\n")[0].slice(0, 500);
    status.log = String((error && error.stack) || "").slice(-4000);
    tensors.length = 0;
  } finally {
    if (session !== null) await session.release();
  }
  status.stage = stage;
  status.seconds = Number(process.hrtime.bigint() - began) / 1e9;
  return [status, tensors];
}

async function handle(request, values) {
  if (request.do === "describe") {
    load();
    return [{ version: component.version }, []];
  }
  const runs = [];
  const results = [];
  for (const [place, options] of request.variants.entries()) {
    const [status, tensors] = await variant(request, values, options, place);
    runs.push(status);
    results.push(...tensors);
  }
  const size = results.reduce((sum, tensor) => sum + (tensor.data.byteLength || 0), 0);
  if (most && size > most) throw new Gap(`outputs of ${size >> 20} MiB; at most ${most >> 20} MiB are compared`);
  return [{ runs }, results];
}

// ---- requests ----------------------------------------------------------------------------------

function told(error) {
  const type = error instanceof Gap ? "NotImplementedError" : (error && error.name) || "Error";
  return { type, message: String((error && error.message) || error), traceback: String((error && error.stack) || "") };
}

async function timed(ask) {
  const began = process.hrtime.bigint();
  const seconds = () => Number(process.hrtime.bigint() - began) / 1e9;
  try {
    const [response, results] = await ask();
    return [{ exit: "ok", response, seconds: seconds() }, results];
  } catch (error) {
    return [{ exit: "error", error: told(error), seconds: seconds() }, []];
  }
}

async function each(calls, values) {
  const answers = [];
  const results = [];
  let from = 0;
  for (const [place, call] of calls.entries()) {
    const number = Buffer.alloc(8);
    number.writeBigUInt64LE(BigInt(place));
    fs.writeSync(LOG, number, 0, 8, 0); // which of them is being answered
    const mine = values.slice(from, (from += call.count));
    const [answer, made] = await timed(() => handle(call.request, mine));
    answers.push(answer.exit === "ok" ? { ...answer, count: made.length } : answer);
    results.push(...made);
    if (answer.exit !== "ok") break;
  }
  return [{ answers }, results];
}

async function answered(message, values) {
  if (message.kind === "warm") {
    // What is no model is refused once WebAssembly is compiled, for which the time of a request is not meant.
    await load().InferenceSession.create(new Uint8Array(1), { logSeverityLevel: 4 }).catch(() => undefined);
    return [{}, []];
  }
  if (message.kind === "describe") return [{}, []];
  if (message.kind === "calls") return each(message.calls, values);
  return handle(message.request, values);
}

async function main() {
  for (;;) {
    const { id, message, values } = readFrame();
    const [answer, results] = await timed(() => answered(message, values));
    writeFrame(id, answer, results);
  }
}

main();
