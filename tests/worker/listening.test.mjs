// A program that listens on a port, started as a process host starts it: it sees what it sees on node:http, and its server is
// on the application's URL prefixes.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { curl, eventually } from '../support/clients.mjs';
import { startProgram } from '../support/child.mjs';
import { freePort } from '../support/free-port.mjs';
import { environment, testsFolder } from '../support/mode.mjs';
import { startHost } from '../support/start-host.mjs';
import { startWorker } from '../support/start-worker.mjs';

const APP = join(testsFolder, 'worker/apps/listen.cjs');
const { forms, scenes } = createRequire(import.meta.url)(APP);

const isOver = ({ program }) => /^ends/m.test(program.output());

/** What the program prints without a host. */
async function onNode(t, form) {
  const port = await freePort();
  const program = await startProgram([process.execPath, APP, form], { ready: /./, cwd: testsFolder, env: { ...environment(''), PORT: String(port) } });
  t.after(() => program.kill());
  return { port, program, url: `http://127.0.0.1:${port}/` };
}

async function inWorker(host, form) {
  const port = await freePort();
  const program = await startWorker(host, [process.execPath, APP, form], {
    ready: /./, env: { PORT: String(port) }, listen: { [port]: [`http://*:${host.port}/app/`] },
  });
  return { port, program, url: `${host.url}/app/` };
}

/** The program's lines, its port left out; those about a second server, which may come between the others, last. */
function outputOf({ port, program }) {
  const lines = program.output().replaceAll(String(port), 'PORT').split('\n');
  const isSecond = (line) => line.startsWith('second');
  return [...lines.filter((line) => !isSecond(line)), ...lines.filter(isSecond)].join('\n');
}

describe('a server in a worker listens as on node:http', { concurrency: 3 }, () => {
  for (const form of forms) {
    test(form, async (t) => {
      const host = await startHost(t);
      const [node, worker] = await Promise.all([onNode(t, form), inWorker(host, form)]);
      for (const { program, url } of [node, worker]) {
        await eventually(() => /^listening/m.test(program.output()), 'it listens');
        assert.equal(await curl(url), `answered ${new URL(url).pathname}`);
        await program.kill('SIGTERM');
        await program.ended;
      }
      assert.equal(outputOf(worker), outputOf(node));
      assert.deepEqual(await worker.program.ended, await node.program.ended);
    });
  }
});

describe('what programs do with listen besides', { concurrency: 3 }, () => {
  for (const scene of scenes) {
    test(scene, async (t) => {
      const host = await startHost(t);
      const [node, worker] = await Promise.all([onNode(t, scene), inWorker(host, scene)]);
      await eventually(() => [node, worker].every((each) => isOver(each) || /^listening/m.test(each.program.output())), 'they listen or end');
      await eventually(() => outputOf(node) === outputOf(worker), 'both say the same').catch(() => undefined);
      assert.equal(outputOf(worker), outputOf(node));
    });
  }
});
