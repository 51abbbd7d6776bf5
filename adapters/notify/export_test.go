package notify

import (
	"net"

	"github.com/writ-automation/writ/ports/notify"
)

// Remote makes a mail channel treat its server as remote.
func Remote(c notify.Channel) { c.(*email).local = func(net.Conn) bool { return false } }
