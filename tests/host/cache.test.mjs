// Answers that a host keeps: for all processes of a prefix, and for no other prefix.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../support/clients.mjs';
import { startHost } from '../support/start-host.mjs';

const APP = 'host/apps/keeper.mjs';
const text = async (url, options) => (await request(url, options)).body.toString();

/** A host of two shards, which share what they keep. */
const start = (t, configuration = '') => startHost(t, { configuration: `[host]\nshards = 2\n${configuration}` });

test('processes of a prefix share what is kept, and a hit asks none of them', async (t) => {
  const host = await start(t);
  const prefix = `http://*:${host.port}/`;
  await host.member(APP, prefix, { args: ['one'] });
  await host.member(APP, prefix, { args: ['two'] });
  const url = `${host.url}/kept`;
  const first = await request(url);
  assert.equal(first.headers['cache-status'], 'portico; fwd=uri-miss; stored');
  for (let round = 0; round < 20; round++) {
    const hit = await request(url);
    assert.deepEqual(hit.body, first.body);
    assert.match(hit.headers['cache-status'], /^portico; hit; ttl=\d+$/);
  }
  assert.notEqual(await text(`${host.url}/not`), await text(`${host.url}/not`));
  const { cache } = await host.status();
  assert.deepEqual([cache.hits, cache.entries], [20, 1]);
});

test('prefixes never get answers of each other', async (t) => {
  const host = await start(t);
  await host.member(APP, `http://*:${host.port}/a/`, { args: ['a'] });
  await host.member(APP, `http://*:${host.port}/`, { args: ['root'] });
  assert.equal(await text(`${host.url}/kept-x`), 'root 1');
  assert.equal(await text(`${host.url}/a/kept-x`), 'a 1');
  assert.equal(await text(`${host.url}/a/kept-x`), 'a 1');
  // The prefix goes: what it answered is not the root's.
  await host.members[0].stop?.();
  await host.members[0].kill();
  const { stdout } = await host.cli('cache', 'show', '--json');
  const shown = JSON.parse(stdout).map(({ url, prefix, status, bytes, fresh_seconds: fresh }) => ({ url, prefix, status, bytes, isFresh: fresh > 0 }));
  assert.deepEqual(shown, [
    { url: `${host.url}/a/kept-x`, prefix: `http://*:${host.port}/a/`, status: 200, bytes: 3, isFresh: true },
    { url: `${host.url}/kept-x`, prefix: `http://*:${host.port}/`, status: 200, bytes: 6, isFresh: true },
  ]);
});

test('what is kept outlives the process that answered', async (t) => {
  const host = await start(t);
  const prefix = `http://*:${host.port}/`;
  const first = await host.member(APP, prefix, { args: ['first'] });
  assert.equal(await text(`${host.url}/kept-x`), 'first 1');
  await first.kill();
  await host.member(APP, prefix, { args: ['second'] });
  assert.equal(await text(`${host.url}/kept-x`), 'first 1');
  assert.equal(await text(`${host.url}/kept-y`), 'second 1');
});

test('a process that dies while its answer is kept leaves nothing of it', async (t) => {
  const host = await start(t);
  const prefix = `http://*:${host.port}/`;
  await host.member(APP, prefix, { args: ['one'] });
  await text(`${host.url}/kept-x`);
  await assert.rejects(text(`${host.url}/kept-half?die`));
  await host.member(APP, prefix, { args: ['two'] });
  assert.equal((await text(`${host.url}/kept-half`)).length, 1000);
  const { stdout } = await host.cli('cache', 'show', '/kept-half', '--json');
  assert.deepEqual(JSON.parse(stdout).map(({ bytes }) => bytes), [1000]);
});

test('PORTICO_CACHE_DURATION of a process holds behind a host', async (t) => {
  const host = await start(t);
  await host.member(APP, `http://*:${host.port}/`, { args: ['one'], env: { PORTICO_CACHE_DURATION: '60' } });
  assert.equal(await text(`${host.url}/plain`), 'one 1');
  assert.equal(await text(`${host.url}/plain`), 'one 1');
  // Another process, which says nothing of it, does not have its answers kept so.
  await host.members[0].kill();
  await host.member(APP, `http://*:${host.port}/`, { args: ['two'] });
  assert.equal(await text(`${host.url}/other`), 'two 1');
  assert.equal(await text(`${host.url}/other`), 'two 2');
});

test('equal requests on all shards wait for the first one', async (t) => {
  const host = await start(t);
  await host.member(APP, `http://*:${host.port}/`, { args: ['one'] });
  const url = `${host.url}/kept-slow`;
  await text(url);
  await host.cli('cache', 'purge', '--all');
  const bodies = await Promise.all(Array.from({ length: 40 }, () => text(url)));
  assert.deepEqual(new Set(bodies), new Set(['one 2']));
  assert.equal((await host.status()).cache.collapsed, 39);
});

test('a process purges its own answers, and the command those of all', async (t) => {
  const host = await start(t);
  await host.member(APP, `http://*:${host.port}/a/`, { args: ['a'] });
  await host.member(APP, `http://*:${host.port}/b/`, { args: ['b'] });
  const fill = async () => {
    for (const path of ['a/kept', 'a/kept-tagged', 'b/kept', 'b/kept-tagged']) await text(`${host.url}/${path}`);
  };
  const purged = async (what) => Number(await text(`${host.url}/a/purge?what=${encodeURIComponent(JSON.stringify(what))}`));
  await fill();
  assert.equal(await purged({ url: `${host.url}/b/kept` }), 0);
  assert.equal(await purged({ url: `${host.url}/a/kept` }), 1);
  assert.equal(await purged({ tag: 'news' }), 1);
  await fill();
  assert.equal(await purged({ all: true }), 2);
  await fill();
  const command = async (...words) => JSON.parse((await host.cli('cache', 'purge', ...words, '--json')).stdout).purged;
  assert.equal(await command('--tag', 'news'), 2);
  assert.equal(await command('--prefix', '/b/'), 1);
  assert.equal(await command('--url', `${host.url.toUpperCase()}/a/kept`.replace('/A/KEPT', '/a/kept')), 1);
  await fill();
  assert.equal(await command('--all'), 4);
  await assert.rejects(host.cli('cache', 'purge', '--url', 'ftp://x/'), /no URL of http or https/);
  await assert.rejects(host.cli('cache', 'purge'), { code: 2 });
  const stats = JSON.parse(await text(`${host.url}/b/stats`));
  assert.deepEqual([stats.entries, stats.budgetBytes], [0, 64 * 1024 * 1024]);
});

test('the configuration bounds what is kept', async (t) => {
  const host = await start(t, '[cache]\nmax_bytes = "1MiB"\nmax_entry_bytes = "1KiB"\n');
  await host.member(APP, `http://*:${host.port}/`, { args: ['one'] });
  for (let at = 0; at < 5; at++) await text(`${host.url}/kept-half?${at}`);
  const { stdout } = await host.cli('cache', 'status', '--json');
  const { entries, budget_bytes: budget } = JSON.parse(stdout);
  assert.deepEqual([entries, budget], [5, 1024 * 1024]);
  assert.match((await host.cli('cache', 'status')).stdout, /^5 answers kept, /);
});
