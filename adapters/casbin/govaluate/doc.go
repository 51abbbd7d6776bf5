// Package govaluate evaluates the matcher of the model of rights. It stands in for github.com/casbin/govaluate, which
// casbin asks for, by the directive replace in go.mod (ADR 0091): a program with that library keeps every exported
// method of every type that it converts to an interface, because the library calls methods by names that it computes.
//
// Its boundary: the part of the language that a matcher is written in: names, texts, calls, ==, !=, !, &&, || and
// parentheses. Everything else is refused when the matcher is read.
package govaluate
