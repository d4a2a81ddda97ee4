'use strict';
// Loaded before Portico: wraps members of node:http and node:https as agents do, and notes their calls. What is wrapped is
// in WRAPPED: "module.Class.method" or "module.function", separated by commas.

const calls = (globalThis.callsOfWrappers = []);

for (const path of process.env.WRAPPED.split(',')) {
  const steps = path.split('.');
  const name = steps.pop();
  const [module, ...classes] = steps;
  let target = require(`node:${module}`);
  for (const each of classes) target = target[each].prototype;
  const original = target[name];
  target[name] = function wrapped(...args) {
    calls.push(name === 'emit' ? `emit ${args[0]}` : name);
    // In the three ways in which wrappers call what they wrap.
    if (calls.length % 3 === 0) return original.apply(this, args);
    if (calls.length % 3 === 1) return original.call(this, ...args);
    return Reflect.apply(original, this, args);
  };
}
