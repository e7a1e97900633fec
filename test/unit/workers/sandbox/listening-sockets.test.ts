import { expect } from 'chai';
import { parseSockets } from '../../../../workers/sandbox/listening-sockets.js';

const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0200400A:1F40 0100400A:C350 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0`;
const TCP6 = `  sl  local_address                         remote_address                        st
   0: 00000000000000000000000001000000:0BB9 00000000000000000000000000000000:0000 0A 0:0 0:0 0 7 0 4
   1: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0 0:0 0 7 0 5
   2: 0000000000000000FFFF00000100007F:0BBA 00000000000000000000000000000000:0000 0A 0:0 0:0 0 7 0 6
   3: B80D0120000000000000000001000000:0BBB 00000000000000000000000000000000:0000 0A 0:0 0:0 0 7 0 7`;

describe('Listening sockets', () => {
  it('are read with their addresses, and connections are left out', () => {
    expect(parseSockets(TCP)).to.deep.equal([
      { address: '127.0.0.1', port: 3000, uid: 0, inode: '1' },
      { address: '0.0.0.0', port: 8000, uid: 0, inode: '2' },
    ]);
    expect(parseSockets(TCP6)).to.deep.equal([
      { address: '::1', port: 3001, uid: 7, inode: '4' },
      { address: '::', port: 80, uid: 7, inode: '5' },
      { address: '127.0.0.1', port: 3002, uid: 7, inode: '6' },
      { address: '2001:db8::1', port: 3003, uid: 7, inode: '7' },
    ]);
    expect(parseSockets('')).to.deep.equal([]);
  });
});
