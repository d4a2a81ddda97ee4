'use strict';

module.exports = { testMatch: ['**/*.jest.cjs'], cacheDirectory: process.env.CACHE_FOLDER, watchman: false };
