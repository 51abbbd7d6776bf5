package notifytest

import (
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/notify"
)

// Behaviour is how the other side of a channel answers.
type Behaviour int

// The behaviours.
const (
	// Takes is to take every message of the form that is asked for there, and to refuse all others.
	Takes Behaviour = iota
	// Refuses is to answer with an error that repeats everything that came, secrets included.
	Refuses
	// Hangs is to take the connection and never to answer.
	Hangs
	// HangsUp is to close the connection instead of an answer.
	HangsUp
	// Floods is to answer with an error of at least Flood bytes, for as long as somebody reads.
	Floods
)

// Flood is how many bytes an answer has that is meant to fill memory.
const Flood = 1 << 30

// Outside is the other side of a channel, as a test plays it.
type Outside struct {
	Target notify.Target
	// Secrets are texts that no error may hold: those of the target and of the server's account.
	Secrets []string
	// Harmful are texts that no message may hold there, since they would mention, link or run something.
	Harmful []string
	// Behave sets how it answers from now on; at first it takes.
	Behave func(b Behaviour)
	// Heard returns the texts of the messages that it took, oldest first, as they are read there: decoded from what
	// carried them.
	Heard func() []string
}

// ChannelUnderTest is a channel with its other side.
type ChannelUnderTest struct {
	Channel notify.Channel
	Outside Outside
}

// prompt is how long a delivery may take whose time is over: loaded machines included, and far below forever.
const prompt = 30 * time.Second

// Channel holds a channel to its contract. open makes one with another side of its own, for each case.
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
