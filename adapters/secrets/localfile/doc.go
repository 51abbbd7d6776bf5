// Package localfile has the engine file: secrets in files of the server's own machine, below one directory. Links are
// followed as long as they stay below it, which is how orchestrators mount secrets; nothing else leads out of it.
package localfile
