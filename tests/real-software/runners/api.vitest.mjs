import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import suite from './api-suite.cjs';

suite({ describe, test, expect, beforeAll, afterAll });
