// What the documents name is there: files behind links, headings behind anchors, paths, tasks of make, variables.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' }).trimEnd().split('\n');
const textOf = (name) => readFileSync(join(root, name), 'utf8');
const pages = tracked.filter((name) => name.endsWith('.md') && existsSync(join(root, name)));
const tasks = new Set([...textOf('Makefile').matchAll(/^([a-z-]+):/gm)].map(([, name]) => name));
const tops = new Set(tracked.map((name) => name.split('/')[0]));

const everywhere = `/${tracked.join('\n/')}\n`;

/** The anchors that headings of a page get, as GitHub makes them. */
function anchorsOf(name) {
  const headings = [...textOf(name).replace(/^```[^]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)];
  return new Set(headings.map(([, text]) => text.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')));
}

/** Whether a text is the path of a file or folder of the repository, from its top or from further below. */
const isPath = (code) => /^[\w.-]+(\/[\w.-]+)+\/?$/.test(code) && (/\.(rs|ts|mjs|cjs|sh|md)$/.test(code) || tops.has(code.split('/')[0]))
  && !/^(target|node_modules|suites)\/|\/(native|dist|node_modules)\b|-$/.test(code);
const isThere = (code) => everywhere.includes(`/${code.replace(/\/$/, '')}`);

function faultsOf(name) {
  const text = textOf(name);
  const faults = [];
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, anchor] = target.split('#');
    const file = path === '' ? name : normalize(join(dirname(name), path));
    if (!existsSync(join(root, file))) faults.push(`no file: ${target}`);
    else if (anchor !== undefined && !anchorsOf(file).has(anchor)) faults.push(`no heading: ${target}`);
  }
  for (const [, code] of text.matchAll(/`([^`\n]+)`/g)) {
    const [, task] = /^make ([a-z-]+)/.exec(code) ?? [];
    if (task !== undefined && !tasks.has(task)) faults.push(`no task: ${code}`);
    // Those of conformance/ also name files of the suites, which are not here.
    if (!name.startsWith('conformance/') && isPath(code) && !isThere(code)) faults.push(`no path: ${code}`);
  }
  return faults;
}

test('links, headings, paths and tasks of make that a page names are there', () => {
  const faults = pages.flatMap((name) => faultsOf(name).map((fault) => `${name}: ${fault}`));
  assert.ok(pages.length > 20);
  assert.deepEqual(faults, []);
});

test('each variable that a page of docs/ or the README names is read somewhere', () => {
  const sources = tracked.filter((name) => /\.(rs|ts|mjs|cjs|sh)$|Makefile/.test(name) && existsSync(join(root, name))).map(textOf).join('\n');
  const named = new Set(pages.filter((name) => /^(docs\/|README)/.test(name)).flatMap((name) => [...textOf(name).matchAll(/`(PORTICO_[A-Z_]+)/g)].map(([, variable]) => variable)));
  assert.ok(named.size > 5);
  assert.deepEqual([...named].filter((variable) => !sources.includes(variable)), []);
});
