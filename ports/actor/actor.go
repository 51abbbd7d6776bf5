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
