'use strict';
// One suite for both runners, with what users do: supertest on the application, on a server that listens, and fetch.

const { createRequire } = require('node:module');
const request = require('supertest');
const { app, http } = require('./app.cjs');

module.exports = ({ describe, test, expect, beforeAll, afterAll }) => {
  describe('the API', () => {
    test('answers JSON', async () => {
      const response = await request(app).get('/user').expect('Content-Type', /json/).expect(200);
      expect(response.body).toEqual({ name: 'ada' });
    });
    test('takes a body', async () => {
      await request(app).post('/user').send({ name: 'grace' }).expect(201, { name: 'grace' });
    });
    test('answers what was not found, and errors', async () => {
      await request(app).get('/nowhere').expect(404);
      await request(app).get('/boom').expect(500);
    });
    test('answers many at once', async () => {
      const agent = request.agent(app);
      const all = await Promise.all(Array.from({ length: 20 }, () => agent.get('/slow')));
      expect(all.every(({ text }) => text === 'slow')).toBe(true);
    });
  });

  describe('a server that listens', () => {
    let server;
    beforeAll(() => new Promise((resolve) => {
      server = http.createServer(app).listen(0, '127.0.0.1', resolve);
    }));
    afterAll(() => new Promise((resolve) => server.close(resolve)));
    test('answers fetch, and closes although fetch keeps its connection', async () => {
      const response = await fetch(`http://127.0.0.1:${server.address().port}/user`);
      expect(await response.json()).toEqual({ name: 'ada' });
    });
    test('answers supertest', async () => {
      await request(server).get('/user').expect(200);
    });
    test('is what http says it is, on the engine where Portico is loaded', () => {
      expect(server).toBeInstanceOf(http.Server);
      if (process.env.PORTICO_REQUIRE !== '1') return;
      const portico = createRequire(__filename)('portico');
      expect(portico.status().active).toBe(true);
      expect(http.Server).toBe(portico.http().Server);
    });
  });
};
