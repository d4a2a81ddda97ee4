// `[[application]]` of a host's configuration with programs of Node: their logs, what they say of themselves, and a host that is
// put in another one's place while they serve.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { curl, eventually } from '../support/clients.mjs';
import { freePort } from '../support/free-port.mjs';
import { startLoad } from '../support/load.mjs';
import { testsFolder } from '../support/mode.mjs';
import { startHost } from '../support/start-host.mjs';

const app = (name) => join(testsFolder, 'worker/apps', name);

/** A host with one application, `more` of whose options are lines of TOML; resolves when it serves. */
async function host(t, command, more) {
  const port = await freePort();
  const configuration = `[[application]]\nname = "app"\ncommand = ${JSON.stringify(command)}\nnode = ${JSON.stringify(process.execPath)}
prefix = "http://*:${port}/"\n${more}\n`;
  const started = await startHost(t, { configuration });
  const workers = async () => JSON.parse((await started.cli('describe', 'app', '--json')).stdout).workers;
  const ready = async () => (await workers()).filter(({ state }) => state === 'ready').map(({ pid }) => pid).sort();
  const logs = async () => (await started.cli('logs', 'app')).stdout;
  return { ...started, url: `http://127.0.0.1:${port}`, workers, ready, logs, configuration };
}

describe('an application of the configuration', () => {
  test('serves its prefix, says how it is, and has its output in a log', async (t) => {
    const { url, workers, logs } = await host(t, [app('served.mjs'), '--colour', 'red'], 'environment = { NODE_ENV = "production" }');
    assert.match(await curl(`${url}/`), /^\d+ 0 --colour red$/);
    await eventually(async () => (await workers())[0]?.heap_used_bytes > 1e6, 'the heap');
    const [worker] = await workers();
    assert.ok(worker.memory_bytes > worker.heap_used_bytes, JSON.stringify(worker));
    await eventually(async () => (await logs()).includes(`out listening ${worker.pid}`), 'the line in the log');
    assert.match(await logs(), new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z 0:${worker.pid} out listening`, 'm'));
  });

  test('goes on under a new program, and is replaced by it, without a failed request', async (t) => {
    const { url, ready, cli, logs, output, file, configuration } = await host(t, app('served.mjs'), 'instances = 2');
    await eventually(async () => (await ready()).length === 2, 'two workers');
    const before = await ready();
    const load = startLoad(url, { connections: 4, paths: ['/', '/slow'] });
    await eventually(() => load.result.sent > 20, 'requests');
    await cli('upgrade');
    await eventually(async () => (await ready()).length === 2, 'the workers to be there');
    assert.deepEqual(await ready(), before, output());
    const sent = load.result.sent;
    await eventually(() => load.result.sent > sent + 20, 'more requests');
    writeFileSync(file, configuration.replace('instances', 'umask = "027"\ninstances'));
    await cli('reload');
    await eventually(async () => {
      const now = await ready();
      return now.length === 2 && now.every((pid) => !before.includes(pid));
    }, 'other workers');
    const { statuses, failures, sent: all } = await load.stop();
    assert.deepEqual(failures, [], output());
    assert.equal(statuses.get(200), all);
    for (const pid of [...before, ...await ready()]) assert.ok((await logs()).includes(`listening ${pid}`), await logs());
  });

  test('finishes what it has of the old program when the new one replaces it', async (t) => {
    const { url, ready, cli, output } = await host(t, app('served.mjs'), 'drain_timeout = "5s"');
    await eventually(async () => (await ready()).length === 1, 'a worker');
    const [before] = await ready();
    const slow = curl(`${url}/slower`);
    await eventually(async () => (await cli('status', '--json')).stdout.includes('"in_flight": 1'), 'the request');
    await cli('upgrade');
    await cli('reload', 'app');
    assert.notEqual((await ready())[0], before);
    assert.match(await slow, new RegExp(`^${before} `), output());
  });

  test('is ready when it says so, and ends at a message', async (t) => {
    const script = join(testsFolder, 'worker/apps/pm2.cjs');
    const { url, ready, cli, logs } = await host(t, script, 'wait_ready = true\nshutdown_message = true');
    // Its first request is one that came before it was ready.
    assert.equal(await curl(`${url}/`), 'ready');
    assert.equal((await ready()).length, 1);
    await cli('stop', 'app');
    await eventually(async () => (await logs()).includes('told to end'), 'the line of its end');
  });
});
