/** Returns the object it is given instead of making one, so that a subclass can put a private field on it. */
// oxlint-disable-next-line no-extraneous-class -- a private field needs a class
export class ReturnOverride {
  constructor(value: object) {
    // oxlint-disable-next-line no-constructor-return -- which is the point
    return value;
  }
}
