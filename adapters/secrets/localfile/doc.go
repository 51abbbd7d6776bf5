// Package localfile implements the engine file. It reads secrets from files below one directory of the server's
// machine. It follows links that stay below the directory, which is how orchestrators mount secrets.
package localfile
