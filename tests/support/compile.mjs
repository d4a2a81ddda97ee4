// Compiles an application written in TypeScript with decorators, as its framework's own tools do.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, basename } from 'node:path';
import ts from 'typescript';
import { testsFolder } from './mode.mjs';

/** Compiles `file` (a path below tests/) to CommonJS; returns the result's path below tests/. */
export function compile(file) {
  const { outputText } = ts.transpileModule(readFileSync(join(testsFolder, file), 'utf8'), {
    fileName: file,
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2022,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      esModuleInterop: true,
    },
  });
  const output = join('.build', basename(file).replace(/\.ts$/, `-${process.pid}.cjs`));
  mkdirSync(join(testsFolder, '.build'), { recursive: true });
  writeFileSync(join(testsFolder, output), outputText);
  return output;
}
