package compose

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// Option changes the parts of processes.
type Option struct {
	constructors  []any
	subscriptions []events.Subscription
	vendorKey     string
}

// With replaces adapters. A constructor is a function that returns one or more of these ports, and optionally an error:
//
//   - runs.LogStore: the output of runs
//   - events.Bus: the bus of domain events; the process runs it
//   - identity.Authorizer: the decisions about rights
//   - map[string]extension.Engine: the secret engines by name
//   - identity.Provider: the provider of sign-ins at /auth/oidc, with or without the flags of OpenID
//
// Its parameters are ports of the process. A parameter of a returned port gets the implementation that is replaced. A
// port is replaced once. A process without a port ignores its constructor: a worker over the relay stores no log.
func With(constructors ...any) Option { return Option{constructors: constructors} }

// Subscribe adds subscribers of domain events. They run on servers.
func Subscribe(list ...events.Subscription) Option { return Option{subscriptions: list} }

var (
	errorType    = reflect.TypeFor[error]()
	providerType = reflect.TypeFor[identity.Provider]()
)

// replaceable are the ports that a constructor of With may return.
func replaceable() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[runs.LogStore](), reflect.TypeFor[events.Bus](), reflect.TypeFor[identity.Authorizer](),
		reflect.TypeFor[map[string]extension.Engine](), providerType,
	}
}

// returns lists the ports that a constructor returns, or describes what is wrong with it.
func returns(constructor any) ([]reflect.Type, error) {
	t := reflect.TypeOf(constructor)
	if t == nil || t.Kind() != reflect.Func {
		return nil, fmt.Errorf("compose.With: expected a function, not %T", constructor)
	}
	var ports []reflect.Type
	for out := range t.Outs() {
		if out == errorType {
			continue
		}
		if !slices.Contains(replaceable(), out) {
			var names []string
			for _, p := range replaceable() {
				names = append(names, p.String())
			}
			return nil, fmt.Errorf("compose.With: %s cannot be replaced; the replaceable ports are %s", out,
				strings.Join(names, ", "))
		}
		ports = append(ports, out)
	}
	if len(ports) == 0 {
		return nil, fmt.Errorf("compose.With: %s returns no port", t)
	}
	return ports, nil
}

// replacements are the replaced ports of the options. They wrap the implementations that they replace, except signIn,
// which adds a provider even if there is none to replace.
func (x *Executor) replacements() (decorators fx.Option, signIn any, err error) {
	var list []fx.Option
	replaced := map[reflect.Type]bool{}
	for _, o := range x.Options {
		for _, c := range o.constructors {
			ports, err := returns(c)
			if err != nil {
				return nil, nil, err
			}
			for _, p := range ports {
				if replaced[p] {
					return nil, nil, fmt.Errorf("compose.With: %s is replaced twice", p)
				}
				replaced[p] = true
			}
			switch {
			case !slices.Contains(ports, providerType):
				list = append(list, fx.Decorate(c))
			case len(ports) > 1:
				return nil, nil, fmt.Errorf("compose.With: %s returns %s and more; give each a function", reflect.TypeOf(c),
					providerType)
			default:
				signIn = c
			}
		}
	}
	return fx.Options(list...), signIn, nil
}

// subscriptions are those that the options add.
func (x *Executor) subscriptions() []events.Subscription {
	var list []events.Subscription
	for _, o := range x.Options {
		list = append(list, o.subscriptions...)
	}
	return list
}
