import './elastic-apm.cjs';
