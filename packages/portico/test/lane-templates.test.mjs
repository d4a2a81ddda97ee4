// Heads that repeat: compared by value, numbered when they come again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Templates } from '../dist/lane/templates.js';

/** Templates over a writer that notes what it was told. */
function setUp() {
  const told = [];
  const templates = new Templates({ template: (number, reason, lines) => told.push([number, reason, lines]) });
  return { told, templates };
}

function head(lines, status = 200, reason = 'OK') {
  return { status, reason, lines, bits: 0, contentLength: 0, template: 0 };
}

/** Sends an object's head as the response does: looks for it, and offers it if it is new. */
function send(templates, object, status = 200) {
  const found = templates.findObject(status, 'OK', object);
  if (found !== undefined) return found;
  const made = head(Object.entries(object).map(([name, value]) => `${name}: ${value}\r\n`).join(''), status);
  templates.remember(made, () => Object.entries(object).flat());
  return made;
}

test('a head that comes again gets a number, once', () => {
  const { told, templates } = setUp();
  assert.equal(send(templates, { A: '1' }).template, 0);
  assert.equal(send(templates, { A: '1' }).template, 1);
  assert.equal(send(templates, { A: '1' }).template, 1);
  assert.deepEqual(told, [[1, 'OK', 'A: 1\r\n']]);
});

test('another value, name, order or status is another head', () => {
  const { templates } = setUp();
  send(templates, { A: '1', B: '2' });
  for (const other of [{ A: '1', B: '3' }, { A: '1', C: '2' }, { B: '2', A: '1' }, { A: '1' }, { A: '1', B: '2', C: '3' }]) {
    assert.equal(templates.findObject(200, 'OK', other), undefined);
  }
  assert.equal(templates.findObject(404, 'OK', { A: '1', B: '2' }), undefined);
});

test('an object that changes is compared by what it holds now', () => {
  const { templates } = setUp();
  const object = { A: '1' };
  send(templates, object);
  assert.equal(send(templates, object).template, 1);
  object.A = '2';
  assert.equal(templates.findObject(200, 'OK', object), undefined);
});

test('text beyond ASCII and values that are objects are never numbered', () => {
  const { told, templates } = setUp();
  for (let round = 0; round < 10; round += 1) {
    send(templates, { A: 'é' });
    send(templates, { A: ['x'] });
  }
  assert.deepEqual(told, []);
});

test('a head that left the memory keeps its text', () => {
  const { templates } = setUp();
  send(templates, { A: '1' });
  const numbered = send(templates, { A: '1' });
  assert.equal(numbered.template, 1);
  for (let other = 0; other < 100; other += 1) send(templates, { B: String(other) });
  assert.equal(numbered.template, 0);
  assert.equal(numbered.lines, 'A: 1\r\n');
});
