'use strict';
// Koa as its site writes it: middleware chain, streams, errors, cookies.

const fs = require('node:fs');
const path = require('node:path');
const Koa = require('koa');

const app = new Koa({ keys: ['a key'] });
app.silent = true;
app.use(async (ctx, next) => {
  await next();
  ctx.set('X-Response-Time', 'measured');
});
app.use(async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    ctx.status = error.status || 500;
    ctx.body = error.message;
  }
});
app.use(async (ctx) => {
  switch (ctx.path) {
    case '/': ctx.body = 'Hello Koa'; break;
    case '/json': ctx.body = { query: ctx.query, ip: ctx.ip, protocol: ctx.protocol, fresh: ctx.fresh, host: ctx.host }; break;
    case '/stream': ctx.body = fs.createReadStream(path.join(__dirname, '../pages/index.html')); break;
    case '/empty': ctx.status = 204; break;
    case '/cookie':
      ctx.cookies.set('view', '1', { signed: true });
      ctx.body = ctx.cookies.get('sent') ?? 'none';
      break;
    case '/etag':
      ctx.status = 200;
      ctx.etag = 'tag';
      if (ctx.fresh) ctx.status = 304;
      else ctx.body = 'stale';
      break;
    case '/echo': ctx.body = ctx.req; ctx.type = ctx.get('content-type'); break;
    case '/raw':
      ctx.respond = false;
      ctx.res.end('by hand');
      break;
    case '/web': ctx.body = new Blob(['from a blob']); break;
    case '/throws': ctx.throw(403, 'not for you'); break;
    default:
  }
});
const server = app.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
