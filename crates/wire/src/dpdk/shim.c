/* What DPDK offers only as inline functions and structures, as functions for src/dpdk. */

#include <errno.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

/* Frames of a ring between us and a driver. */
#define RING_FRAMES 1024
/* Frames that a thread keeps for itself. */
#define CACHE_FRAMES 256

struct assay_port {
    uint16_t number;
    uint16_t mtu;
    uint8_t hardware[6];
    struct rte_mempool *pool;
};

/* Begins the environment; 0, or a negative error number. */
int assay_dpdk_begin(int count, char **arguments)
{
    return rte_eal_init(count, arguments) < 0 ? -rte_errno : 0;
}

static int start_queues(struct assay_port *port, uint16_t queues)
{
    for (uint16_t queue = 0; queue < queues; queue++) {
        int socket = rte_eth_dev_socket_id(port->number);
        int error = rte_eth_rx_queue_setup(port->number, queue, RING_FRAMES, socket, NULL, port->pool);
        if (error == 0)
            error = rte_eth_tx_queue_setup(port->number, queue, RING_FRAMES, socket, NULL);
        if (error != 0)
            return error;
    }
    return rte_eth_dev_start(port->number);
}

/* Starts the first device with that many queues; 0, or a negative error number. */
int assay_dpdk_start(struct assay_port *port, uint16_t queues)
{
    const struct rte_eth_conf usual = {0};
    struct rte_ether_addr address;
    uint16_t number = rte_eth_find_next(0);
    if (number >= RTE_MAX_ETHPORTS)
        return -ENODEV;
    port->number = number;
    /* Both rings full, a burst at either end, and what threads keep. */
    unsigned frames = queues * (2 * RING_FRAMES + 2 * CACHE_FRAMES) + 1024;
    port->pool = rte_pktmbuf_pool_create("assay", frames, CACHE_FRAMES, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                         rte_socket_id());
    if (port->pool == NULL)
        return -rte_errno;
    int error = rte_eth_dev_configure(number, queues, queues, &usual);
    if (error == 0)
        error = start_queues(port, queues);
    if (error == 0)
        error = rte_eth_dev_get_mtu(number, &port->mtu);
    if (error == 0)
        error = rte_eth_macaddr_get(number, &address);
    if (error == 0)
        memcpy(port->hardware, address.addr_bytes, sizeof port->hardware);
    return error;
}

void assay_dpdk_stop(const struct assay_port *port)
{
    rte_eth_dev_stop(port->number);
    rte_eth_dev_close(port->number);
}

/* Frames that the device had no room or no memory for. */
uint64_t assay_dpdk_lost(const struct assay_port *port)
{
    struct rte_eth_stats counters;
    return rte_eth_stats_get(port->number, &counters) == 0 ? counters.imissed + counters.rx_nombuf : 0;
}

/* Whether the link is up; devices that do not tell have none that could go down. */
int assay_dpdk_is_up(const struct assay_port *port)
{
    struct rte_eth_link link;
    return rte_eth_link_get_nowait(port->number, &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
}

/* Gives this thread a cache of its own. */
void assay_dpdk_join(void)
{
    rte_thread_register();
}

uint16_t assay_dpdk_receive(const struct assay_port *port, uint16_t queue, struct rte_mbuf **frames,
                            uint16_t most)
{
    return rte_eth_rx_burst(port->number, queue, frames, most);
}

uint16_t assay_dpdk_send(const struct assay_port *port, uint16_t queue, struct rte_mbuf **frames, uint16_t most)
{
    return rte_eth_tx_burst(port->number, queue, frames, most);
}

struct rte_mbuf *assay_dpdk_allocate(const struct assay_port *port)
{
    return rte_pktmbuf_alloc(port->pool);
}

void assay_dpdk_free(struct rte_mbuf *frame)
{
    rte_pktmbuf_free(frame);
}

/* The frame's bytes if they are in one piece. */
const uint8_t *assay_dpdk_bytes(const struct rte_mbuf *frame, uint16_t *length)
{
    *length = rte_pktmbuf_data_len(frame);
    return frame->nb_segs == 1 ? rte_pktmbuf_mtod(frame, const uint8_t *) : NULL;
}

/* Room for that many bytes in an empty frame, if there is. */
uint8_t *assay_dpdk_extend(struct rte_mbuf *frame, uint16_t length)
{
    return (uint8_t *)rte_pktmbuf_append(frame, length);
}
