/** What is used of the native addon, which has no types of its own. */
declare module 'fs-native-extensions' {
  export function tryLock(fd: number): boolean
}
