require('./api-suite.cjs')({ describe, test, expect, beforeAll, afterAll });
