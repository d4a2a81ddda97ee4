// What binding.ts says of the add-on is what the add-on has.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadBinding } from '../dist/native/load.js';

const source = readFileSync(join(import.meta.dirname, '../src/native/binding.ts'), 'utf8');

/** Names of an interface's members. */
function membersOf(name) {
  const [, body] = new RegExp(`export interface ${name} \\{\\n(.*?)\\n\\}`, 's').exec(source);
  return [...body.matchAll(/^ {2}(?:readonly )?([a-zA-Z]+)\??(?:\(|:)/gm)].map(([, member]) => member).sort();
}

const binding = loadBinding();
/** Each engine has it as an own property: a plain function, without the conversions of a class's methods. */
const OWN = ['submit'];

for (const [name, found] of [
  ['Binding', Object.keys(binding).filter((key) => !/^[A-Z]/.test(key))],
  ['Engine', Object.getOwnPropertyNames(binding.Engine.prototype).filter((key) => key !== 'constructor')],
  ['HostConnection', Object.getOwnPropertyNames(binding.HostConnection.prototype).filter((key) => key !== 'constructor')],
]) {
  test(`the add-on has each member of ${name}, and no other`, () => {
    assert.deepEqual(found.sort(), membersOf(name).filter((member) => !OWN.includes(member)));
  });
}
