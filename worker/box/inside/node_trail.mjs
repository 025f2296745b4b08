// Runs a program with Node's own coverage on, then says on the trail which functions below /work were called.
//
// `node node_trail.mjs PROGRAM [ARGUMENT...]`; children that are Node are counted too. The lines are those of
// usercustomize.py. A program that is killed, or that removes what Node wrote, leaves no lines.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = "/work/";
const PIPES = "/proc/1/fd";

function trail() {
  const name = fs.readdirSync(PIPES).find((each) => Number(each) > 2 && fs.statSync(path.join(PIPES, each)).isFIFO());
  return fs.openSync(path.join(PIPES, name), fs.constants.O_WRONLY);
}

function* linesOf(script) {
  if (!script.url.startsWith(`file://${ROOT}`)) return;
  const file = fileURLToPath(script.url);
  const source = fs.readFileSync(file, "utf8");
  for (const called of script.functions) {
    const { startOffset, count } = called.ranges[0];
    if (count === 0) continue;
    const line = source.slice(0, startOffset).split("\n").length;
    const whole = startOffset === 0 && called.functionName === "";
    const name = called.functionName || (whole ? "<module>" : "(anonymous)");
    yield [whole ? "m" : "r", count, line, name, file.slice(ROOT.length)].join("\t");
  }
}

function tell(folder, out) {
  for (const name of fs.readdirSync(folder)) {
    for (const script of JSON.parse(fs.readFileSync(path.join(folder, name), "utf8")).result) {
      for (const line of linesOf(script)) fs.writeSync(out, `${line}\n`);
    }
  }
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "trail-"));
const [program, ...words] = process.argv.slice(2);
const ran = spawnSync(program, words, { stdio: "inherit", env: { ...process.env, NODE_V8_COVERAGE: folder } });
try {
  tell(folder, trail());
} catch {
  // What was not written cannot be told.
}
if (ran.error) console.error(`${program} cannot be started: ${ran.error.code}`);
if (ran.signal) process.kill(process.pid, ran.signal);
process.exitCode = ran.error ? 127 : ran.status;
