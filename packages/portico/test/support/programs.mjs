// Small programs, run in processes of their own.

import { execFile } from 'node:child_process';
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the package under test. */
export const packageFolder = fileURLToPath(new URL('../..', import.meta.url));

/** A folder with files, in which `portico` resolves to the package under test; removed at the test's end. */
export function project(t, files) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-program-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(packageFolder, join(folder, 'node_modules', 'portico'), 'dir');
  return folder;
}

/** Runs node in a folder, for at most 20 s. Gives the exit code and both outputs; does not throw. */
export function run(folder, args, env = {}) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^PORTICO_|^NODE_(OPTIONS|TEST)/.test(name)));
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: folder, env: { ...clean, ...env }, timeout: 20_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code ?? error.signal, stdout, stderr });
    });
  });
}
