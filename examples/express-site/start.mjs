// `make run`: the site on http://localhost:8080 and https://localhost:8443.

import { serve } from '../support/serve.mjs';
import { app } from './app.mjs';
import { endStreams } from './lib/api.mjs';

await serve('Tidewater Boat Club', app, endStreams);
