'use strict';
// Every behaviour by its name: `{ handle(request, response), method, long, queued, fields,
// server }`. `long` answers are worth a
// slow reader, `queued` ones come behind an earlier request of their connection, `fields` are lines that its request has,
// `server` the one that it needs.

const reading = require('./reading.cjs');
const leaving = require('./leaving.cjs');
const answering = require('./answering.cjs');
const asking = require('./asking.cjs');
const breaking = require('./breaking.cjs');
const composing = require('./composing.cjs');
const timing = require('./timing.cjs');

const behaviours = new Map();

function add(handlers, facts = {}) {
  for (const [name, handle] of Object.entries(handlers)) {
    behaviours.set(name, { handle, method: 'POST', long: false, queued: false, fields: [], server: undefined, ...facts });
  }
}

add(reading);
add(leaving);
add(composing);
add(answering.small);
add(answering.sizes);
add(timing.quick);
add(timing.long, { long: true });
add(answering.withHead, { method: 'HEAD' });
add(answering.long, { long: true });
add(breaking.alone);
add(breaking.queued, { queued: true });
add(asking.close, { fields: ['Connection: close'] });
add(asking.upgrade, { fields: ['Connection: Upgrade', 'Upgrade: something'] });
add(asking.accepted, { fields: ['Connection: Upgrade', 'Upgrade: tunnel'], server: 'upgrading' });

module.exports = { behaviours };
