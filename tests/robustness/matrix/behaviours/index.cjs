'use strict';
// Every behaviour by its name: `{ handle(request, response), method, long, queued }`. `long` answers are worth a slow
// reader, `queued` ones come behind an earlier request of their connection.

const reading = require('./reading.cjs');
const leaving = require('./leaving.cjs');
const answering = require('./answering.cjs');
const breaking = require('./breaking.cjs');

const behaviours = new Map();

function add(handlers, facts = {}) {
  for (const [name, handle] of Object.entries(handlers)) {
    behaviours.set(name, { handle, method: 'POST', long: false, queued: false, ...facts });
  }
}

add(reading);
add(leaving);
add(answering.small);
add(answering.withHead, { method: 'HEAD' });
add(answering.long, { long: true });
add(breaking.alone);
add(breaking.queued, { queued: true });

module.exports = { behaviours };
