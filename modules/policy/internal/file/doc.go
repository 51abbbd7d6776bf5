// Package file reads policies from a file, which is read again when it changes.
package file
