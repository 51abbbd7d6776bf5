// Package trust is the section of the web interface with the audit trail and its verification.
package trust
