'use strict';

/** Prints one request as an agent reported it. `route` is empty where the program has none. */
module.exports = (method, route, status) => console.log(`saw ${method} ${route || '-'} ${status}`);
