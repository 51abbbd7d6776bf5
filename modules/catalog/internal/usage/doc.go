// Package usage keeps what objects name and who may keep them: the part of every change that is the same for each kind of object.
package usage
