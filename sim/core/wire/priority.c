// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Priority of an Ethernet frame: that of its VLAN tag, or of its DSCP if it has none. */
#include "core/wire/wire.h"
#include "core/wire/frame.h"

uint8_t hca_packet_priority(const struct hca_packet *pkt)
{
	const uint8_t *after = pkt->data + ETH_LEN;
	uint16_t type;

	if (pkt->len < ETH_LEN + IPV4_LEN)
		return 0;
	type = get16(pkt->data + ETH_TYPE);
	if (type == ETH_TYPE_VLAN || type == ETH_TYPE_QINQ)
		return after[0] >> VLAN_PCP_SHIFT;
	if (type == ETH_TYPE_IPV4)
		return class_priority(after[IPV4_TOS]);
	if (type == ETH_TYPE_IPV6) /* behind the four bits of the version */
		return class_priority((uint8_t)(get16(after) >> 4));
	return 0;
}
