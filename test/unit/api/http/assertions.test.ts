import { expect } from 'chai';
import { assertConfirmed } from '../../../../api/http/assertions.js';

describe('A confirmation', () => {
  it('is the exact name of what is deleted', () => {
    assertConfirmed('uploads', { name: 'uploads' });
    for (const confirm of ['', 'upload', 'Uploads', 'uploads ']) {
      expect(() => assertConfirmed(confirm, { name: 'uploads' }), confirm)
        .to.throw()
        .with.property('code', 'invalid_confirmation');
    }
  });
});
