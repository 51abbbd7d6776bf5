// Package audit is the surface of the trail: what was recorded, whether the chain holds, and the files by which anybody
// checks it without the server. Names, addresses and paths are shown to who may read the trail; others get the files
// without them.
package audit
