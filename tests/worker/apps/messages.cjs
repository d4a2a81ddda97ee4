'use strict';
// What a worker's program says to its host and hears of it: `node messages.cjs SCENE`.

const { fork } = require('node:child_process');
const { isMainThread, Worker } = require('node:worker_threads');
const { recycle } = require('portico');

/** Keeps the program alive until it is killed. */
const stay = () => setInterval(() => undefined, 1000);

const SCENES = {
  ready: () => {
    stay();
    console.log('sent', process.send('ready'));
  },
  hears: () => {
    stay();
    process.on('message', (message) => console.log('message', JSON.stringify(message)));
  },
  'ends by itself': () => {
    process.on('message', () => undefined);
    process.send('ready', (error) => console.log('callback', error));
    setTimeout(() => console.log('over'), 500);
  },
  'says other things': () => {
    process.send({ type: 'metrics' }, undefined, undefined, (error) => console.log('callback', error));
  },
  recycle: () => {
    recycle('the cache is large').then(() => console.log('heard'), ({ code, message }) => console.log('refused', code, message));
  },
  thread: () => {
    if (isMainThread) new Worker(__filename, { argv: ['thread'] });
    else recycle().catch(({ code }) => console.log('refused', code, typeof process.send));
  },
  child: () => {
    if (process.argv[3] === 'child') return void process.send('ready');
    fork(__filename, ['child', 'child']).on('message', (message) => console.log('from the child', message));
  },
};

SCENES[process.argv[2]]();
