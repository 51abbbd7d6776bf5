package notify

import (
	"net"

	"github.com/writ-automation/writ/ports/notify"
)

// Remote makes a channel for mail believe that its server is on another machine.
func Remote(c notify.Channel) { c.(*email).local = func(net.Conn) bool { return false } }
