export default { test: { include: ['**/*.vitest.mjs'], pool: process.env.POOL }, cacheDir: process.env.CACHE_FOLDER };
