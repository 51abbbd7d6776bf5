// Package actor stores the account or component on whose behalf code runs in a context.
package actor

import (
	"cmp"
	"context"
)

// Type is the type of an actor.
type Type string

// The types of actors.
const (
	User      Type = "user"
	Worker    Type = "worker"
	Hook      Type = "hook"
	System    Type = "system"
	Anonymous Type = "anonymous"
)

// Actor is the account or component that acts. IP is the caller's address, if there is one.
type Actor struct {
	Type Type   `json:"type"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	IP   string `json:"-"`
	// Token is the id of the user's token, empty without one.
	Token string `json:"-"`
}

// Shown returns the name of the actor, or its id if it has none.
func (a Actor) Shown() string { return cmp.Or(a.Name, a.ID, string(a.Type)) }

type key struct{}

// With returns a context whose actor is a.
func With(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, key{}, a) }

// From returns the actor of ctx, or the system if there is none.
func From(ctx context.Context) Actor {
	if a, ok := ctx.Value(key{}).(Actor); ok {
		return a
	}
	return Actor{Type: System, Name: "system"}
}

// Request describes the request by which an actor acts. All of it is untrusted input.
type Request struct {
	ID     string // the request's id in the answer and the log
	Method string
	// Path is the requested path, or the route's pattern if the path contains a secret.
	Path  string
	Agent string // the user agent
}

type requestKey struct{}

// WithRequest returns a context with the request r.
func WithRequest(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the request of ctx, or the zero value.
func RequestOf(ctx context.Context) Request {
	r, _ := ctx.Value(requestKey{}).(Request)
	return r
}
