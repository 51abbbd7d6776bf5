// Package actor says on whose behalf code runs.
package actor

import "context"

// Type is the sort of an actor.
type Type string

// The types of actors.
const (
	User      Type = "user"
	Worker    Type = "worker"
	Hook      Type = "hook"
	System    Type = "system"
	Anonymous Type = "anonymous"
)

// Actor is who acts. IP is the caller's address where there is one.
type Actor struct {
	Type Type   `json:"type"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	IP   string `json:"-"`
	// Token is the id of the token by which a user acts, empty where there is none.
	Token string `json:"-"`
}

type key struct{}

// With returns a context whose actor is a.
func With(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, key{}, a) }

// From returns the actor of ctx; without one it is the system itself.
func From(ctx context.Context) Actor {
	if a, ok := ctx.Value(key{}).(Actor); ok {
		return a
	}
	return Actor{Type: System, Name: "system"}
}

// Request is what of a request says how somebody acted. All of it comes from outside.
type Request struct {
	ID     string // the request's id, as the answer and the log name it
	Method string
	// Path is the path that was asked for, or the route's pattern where the path itself is a secret.
	Path  string
	Agent string // the program that asked
}

type requestKey struct{}

// WithRequest returns a context in which somebody acts by a request.
func WithRequest(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the request of ctx, the zero value where there is none.
func RequestOf(ctx context.Context) Request {
	r, _ := ctx.Value(requestKey{}).(Request)
	return r
}
