import { describeEdge } from './contract.js';
import { nodeKind } from './support.js';

describeEdge(nodeKind);
