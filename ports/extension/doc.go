// Package extension is the published contract of everything that extends Writ: tools, notification channels, AI
// providers and secret engines.
//
// Extensions are registered before the server starts, from an init function or from a custom main. The registry
// freezes when the server starts; registering later panics, as does an empty, duplicate or reserved name.
package extension
