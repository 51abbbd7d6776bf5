package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// contentPolicy forbids an answer everything; pages that need something set their own.
const contentPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// securityHeaders sets the security headers on every answer.
func securityHeaders(next http.Handler, tls bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if tls || r.TLS != nil {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackOnly guards an install without tokens: another name in the Host header means that a page rebound its name to
// this machine, proxy headers mean that the client may be anywhere, and a write from another origin means that a page
// acts for its visitor.
func loopbackOnly(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			refuse(w, r, "host_not_allowed", "an open install answers only under loopback host names")
			return
		}
		if requestOf(r.Context()).jar.relayed {
			refuse(w, r, "host_not_allowed",
				"an open install answers only clients on its own machine, and a proxy that is not trusted sent this")
			return
		}
		if cross.Check(r) != nil {
			refuse(w, r, CrossOrigin.Name, "an open install refuses writes from other origins")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, r *http.Request, reason, text string) {
	Refuse(w, r, http.StatusForbidden, reason, text)
}

// Refuse answers with a problem whose status has no kind of fault.
func Refuse(w http.ResponseWriter, r *http.Request, status int, reason, text string) {
	WriteError(w, r, plainProblem(status, reason, text))
}

func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// maxHops bounds how many entries of X-Forwarded-For are looked at.
const maxHops = 16

// clientIP is the address that the audit trail names: the peer's, or the nearest hop before the trusted proxies.
func clientIP(r *http.Request, trusted []netip.Prefix) string {
	ip, ok := peerOf(r)
	if !ok {
		return ""
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && len(hops)-i <= maxHops && contains(trusted, ip); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		ip = hop.Unmap()
	}
	return ip.String()
}

// peerOf returns the address of the peer.
func peerOf(r *http.Request) (netip.Addr, bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return peer.Addr().Unmap(), err == nil
}

func contains(nets []netip.Prefix, ip netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}
