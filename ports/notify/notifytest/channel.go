package notifytest

import (
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/notify"
)

// Behaviour is the behaviour of a channel's receiver.
type Behaviour int

// The behaviours.
const (
	// Takes accepts every message of the right form and refuses all others.
	Takes Behaviour = iota
	// Refuses answers with an error that repeats the whole request, including secrets.
	Refuses
	// Hangs accepts the connection and never answers.
	Hangs
	// HangsUp closes the connection without an answer.
	HangsUp
	// Floods answers with an error of at least Flood bytes, as long as the client reads.
	Floods
)

// Flood is the size of an answer that would fill memory, in bytes.
const Flood = 1 << 30

// Outside is a fake receiver of a channel.
type Outside struct {
	Target notify.Target
	// Secrets are texts that no error may contain: those of the target and of the server's account.
	Secrets []string
	// Harmful are texts that no message may contain there, since they would mention, link or run something.
	Harmful []string
	// Behave sets the behaviour from now on. The first one is Takes.
	Behave func(b Behaviour)
	// Heard returns the decoded texts of the accepted messages, the oldest first.
	Heard func() []string
}

// ChannelUnderTest is a channel with its receiver.
type ChannelUnderTest struct {
	Channel notify.Channel
	Outside Outside
}

// prompt bounds a delivery whose context has ended: long enough for loaded machines, and far less than forever.
const prompt = 30 * time.Second

// Channel tests a channel against its contract. open makes a channel with its own receiver for each case.
func Channel(t *testing.T, open func(t *testing.T) ChannelUnderTest) {
	t.Helper()
	for name, fn := range map[string]func(*testing.T, ChannelUnderTest){
		"its kind is one of the list":        channelKind,
		"every outcome arrives":              channelOutcomes,
		"a run that says little":             channelBare,
		"what is not told":                   channelDiscreet,
		"hostile texts":                      channelHostile,
		"texts without end":                  channelLong,
		"any text":                           channelAnything,
		"many at once":                       channelTogether,
		"another try":                        channelAgain,
		"the same message after it was used": channelPure,
		"an answer that is an error":         channelRefused,
		"nobody answers":                     channelHanging,
		"the other side hangs up":            channelHangsUp,
		"an answer without end":              channelFlood,
		"a context that is over":             channelOver,
		"targets that lead nowhere":          channelNowhere,
	} {
		t.Run(name, func(t *testing.T) { fn(t, open(t)) })
	}
}
