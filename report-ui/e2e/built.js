// What cargo builds for the tests of the page. It is asked for all that `make compiled` asks for, which is there already when the crates
// were tested: for one program alone it would choose other features, and compile everything below once more.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const EVERYTHING = ["build", "-q", "--workspace", "--bins", "--tests", "--examples", "--locked", "--message-format", "json"];
const WORKSPACE = new URL("../..", import.meta.url);
/** Characters that cargo may say; a line for each crate. */
const MOST_SAID = 64 << 20;
// Not one that blocks: compiling takes longer than the 60 s after which the runner of the tests takes a silent worker for lost.
export const run = promisify(execFile);

/**
 * The path of an executable of the workspace.
 * @param {"example" | "bin"} kind
 * @param {string} name
 * @returns {Promise<string>}
 */
export async function built(kind, name) {
  const { stdout } = await run("cargo", EVERYTHING, { cwd: WORKSPACE, maxBuffer: MOST_SAID });
  /** @type {{ executable?: string, target?: { name: string, kind: string[] }, profile?: { test: boolean } }[]} */
  const messages = stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const found = messages.find(({ executable, target, profile }) => executable && target?.name === name && target.kind.includes(kind) && !profile?.test);
  if (!found?.executable) throw new Error(`cargo built no ${name}`);
  return found.executable;
}
